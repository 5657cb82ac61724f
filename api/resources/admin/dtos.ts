// The types of administration (contract 6.2).
import { z } from 'zod'
import { EntitiesEnum, valuesOf } from '../../../domain/enums.ts'
import { dto, idsOf } from '../../kernel/dto.ts'

/** A kind of resource as a parameter. */
export const EntityParameter = z.enum(valuesOf(EntitiesEnum))

/** Resources of one kind that are to be archived or brought back. */
export const ArchiveAllEntitiesRequestDto = dto('ArchiveAllEntitiesRequestDto', {
  archiveEntityRequestDtoList: idsOf(),
})

/** Archived resources of one kind that are to be deleted. */
export const DeleteArchivedEntitiesRequestDto = dto('DeleteArchivedEntitiesRequestDto', {
  deleteEntityRequestDtoList: idsOf(),
})
